package policy

import "strconv"

func (s Switch) text() string {
	switch s {
	case Yes:
		return "true"
	case No:
		return "false"
	}
	return ""
}

// number prints without an exponent; 0 is the empty string, unsaid.
func number(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
