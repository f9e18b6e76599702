package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseBool takes what bookkeeper.conf is written with.
func parseBool(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("want true or false")
}

// numberMax keeps products with the units far from overflow.
const numberMax = 1 << 40

func parseNumber(value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > numberMax {
		return 0, fmt.Errorf("want a whole number from 0 to %d", int64(numberMax))
	}
	return n, nil
}

// scaled is a setting that is written as a whole number of units.
func scaled[N ~int | ~int64](name, about string, unit N, field func(*Config) *N) Setting {
	return Setting{
		Name: name, About: about,
		set: func(c *Config, value string) error {
			n, err := parseNumber(value)
			if err == nil {
				*field(c) = N(n) * unit
			}
			return err
		},
		get: func(c *Config) string { return strconv.FormatInt(int64(*field(c)/unit), 10) },
	}
}

func number[N ~int | ~int64](name, about string, field func(*Config) *N) Setting {
	return scaled(name, about, 1, field)
}

func mebibytes(name, about string, field func(*Config) *int64) Setting {
	return scaled(name, about+", in MiB", 1<<20, field)
}

func milliseconds(name, about string, field func(*Config) *time.Duration) Setting {
	return scaled(name, about, time.Millisecond, field)
}

func fraction(name, about string, field func(*Config) *float64) Setting {
	return Setting{
		Name: name, About: about,
		set: func(c *Config, value string) error {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil || !(f > 0 && f <= 1) {
				return errors.New("want a number above 0 and at most 1")
			}
			*field(c) = f
			return nil
		},
		get: func(c *Config) string { return strconv.FormatFloat(*field(c), 'g', -1, 64) },
	}
}
