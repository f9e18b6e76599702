// Package planted makes source files that each break one rule of the seam, in every form the language has for it: by
// the plain name, through a renamed import, through a dot import, and as a function kept for later. The tests of
// seamcheck and of the repository's rules plant them in a copy of the module and expect each to be found.
package planted
