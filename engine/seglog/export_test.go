package seglog

// EncodeTopic makes a topic's file, for tests of its format.
func EncodeTopic(name string, volumes []string) ([]byte, error) {
	s := settings{Name: name, Version: 1, Volumes: volumes}
	return s.encode()
}

// CheckTopic reads a topic's file.
func CheckTopic(b []byte, name string) error {
	_, err := parseSettings(b, name)
	return err
}

// ParseTopic reads a topic's file and says how many partitions it names.
func ParseTopic(b []byte, name string) (int, error) {
	s, err := parseSettings(b, name)
	return len(s.Volumes), err
}
