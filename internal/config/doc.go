// SPDX-License-Identifier: Apache-2.0

// Package config reads the files in which people say what a sandbox may do,
// and lays them over each other: built-in, system, user, project.
//
// Start with [Find], which looks where files may be and reads those that are
// safe to trust with the decision, then [Load]. When Find returns nothing,
// [Defaults] gives the same [Settings] without the work. After flags have had
// their say, [Settings.CheckLocked] compares the outcome with what the
// administrator locked.
//
// It promises:
//   - TOML and HCL say the same: both readers make the same tree, and every
//     mistake is one line that begins with file:line:col.
//   - Nothing is guessed: unknown keys, wrong types, keys said twice, and
//     files that others could have written are errors, never ignored.
//   - A project file that is not trusted makes no profile of the other layers
//     give more than it gave without the file, whatever the file holds. What
//     it asks for beyond that is named in [Settings.Notices].
//   - A trusted project file decides about profiles, the default one and tools.
//     The rest it can only tighten, as any project file; see
//     [Settings.KeepFloor]. What the administrator locked holds against it.
//   - A hostile file costs bounded time and memory and cannot put control
//     characters on a terminal.
//
// Which project files the user has agreed to is in a [TrustStore]; the caller
// brings the two together ([Files.Trusts]).
//
// It does not promise that a trusted file is wise. And it does not look at
// access control lists, nor at directories above the one a file lies in:
// whoever can write there can replace the file. Settings of the environment
// and of flags are the caller's to add.
package config
