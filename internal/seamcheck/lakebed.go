package seamcheck

// Config says what is checked. All folders are relative to Dir and written with slashes, as in import paths.
type Config struct {
	Dir    string   // root of the module
	Roots  []string // folders whose packages must keep to the seam, with everything below them
	Exempt []string // folders below Roots that need not, with everything below them
}

// Lakebed is the configuration of this repository, for a tree rooted at dir.
func Lakebed(dir string) Config {
	return Config{Dir: dir, Roots: []string{"engine", "internal/invariant"}, Exempt: Drivers()}
}

// Drivers are the folders under engine/ that meet the real machine: goroutines, files, sockets, foreign clients. The
// import rules allow nobody but commands, benchmarks and tests to import them.
func Drivers() []string {
	return []string{
		"engine/host/oshost",
	}
}

// exemption frees one function from one rule.
type exemption struct {
	folder   string
	function string
	rule     Rule
	why      string
}

// exemptions is the whole list; an entry needs a reason that holds for every caller.
var exemptions = []exemption{
	{"engine/host", "SortedKeys", MapOrder, "it sorts what the map yields before anybody sees it"},
}

func exempted(folder, function string, rule Rule) bool {
	for _, e := range exemptions {
		if e.folder == folder && e.function == function && e.rule == rule {
			return true
		}
	}
	return false
}
