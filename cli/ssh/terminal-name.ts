/**
 * Terminals that most images have no description of: in Debian it is in the package `ncurses-term`, or in none. All of them understand what
 * is in the description of `xterm-256color`, which every image with `ncurses` has.
 */
const NEWER = /^(xterm-(kitty|ghostty)|alacritty|foot|wezterm|rio|contour)(-|$)/

/** Name of the terminal for programs in a session. @param own name of the terminal here (TERM) */
export const knownTerminal = (own: string): string => (NEWER.test(own) ? 'xterm-256color' : own)
