//go:build race

package stuck

const raceDetector = true
