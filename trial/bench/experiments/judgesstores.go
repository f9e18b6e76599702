package experiments

import (
	"lakebed/engine/seglog/partition"
	"lakebed/reports"
)

// Bounds of the verdicts on the single-node stores. They stand in the hypothesis files in words.
const seeksMin = 1000

// judgeTimeRules: by recorded times no look-up is wrong; by modification times some are, where clocks step back and where
// files were copied.
func judgeTimeRules(r *reports.Result) reports.Verdict {
	var j judgement
	for _, c := range circumstances() {
		wrong, ok := j.figureOf(r, datedCell(c, partition.ByRecordedTime), figureWrong)
		asked, found := j.figureOf(r, datedCell(c, partition.ByRecordedTime), figureSeeks)
		if !ok || !found {
			continue
		}
		j.none("wrong by recorded time, "+string(c), total(&wrong))
		if total(&asked) < seeksMin {
			j.leaveOpen("%s look-ups, %s, and it takes %d", short(total(&asked)), c, seeksMin)
		}
	}
	for _, c := range []circumstance{clockBack, copiedFiles} {
		wrong, ok := j.figureOf(r, datedCell(c, partition.ByModification), figureWrong)
		asked, found := j.figureOf(r, datedCell(c, partition.ByModification), figureSeeks)
		switch {
		case !ok || !found:
		case total(&wrong) == 0:
			j.refute("by modification time no look-up is wrong, %s", c)
		default:
			j.support("by modification time %s of %s are wrong, %s", short(total(&wrong)), short(total(&asked)), c)
		}
	}
	return j.verdict()
}
