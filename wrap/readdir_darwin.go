package wrap

import "os"

// ReadDir lists a directory.
func (OS) ReadDir(path string) ([]Entry, error) {
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i].Name = e.Name()
		switch t := e.Type(); {
		case t.IsRegular():
			entries[i].Kind = File
		case t.IsDir():
			entries[i].Kind = Dir
		case t&os.ModeSymlink != 0:
			entries[i].Kind = Link
		}
	}
	return entries, nil
}

// Mounts returns nothing: a directory cannot be mounted twice here.
func (OS) Mounts() ([]Mount, error) { return nil, nil }
