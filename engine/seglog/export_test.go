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
