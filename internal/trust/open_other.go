//go:build !unix

package trust

import "errors"

func (s Store) readFile(name string) (data []byte, found bool, err error) {
	return nil, false, s.bad(name, "who can write a file is not known on this system", errors.ErrUnsupported)
}

func (s Store) checkDirs() error {
	return s.bad("", "who can write a directory is not known on this system", errors.ErrUnsupported)
}
