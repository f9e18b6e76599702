// Package browser opens the pages of packages reports and trial/page in a headless Chromium and looks at them as a reader would: in light
// and dark, on a telephone and on a wide screen, with the keyboard, without scripts.
//
// It is a module of its own because the driver of the browser is no part of the engine or its laboratory. Its tests need a
// program chromium, chromium-browser or google-chrome in the path, or one named by the variable CHROMIUM; without one they
// are skipped, and .ci/run says so. They reach for no network: whatever a page asks for is a failure.
package browser
