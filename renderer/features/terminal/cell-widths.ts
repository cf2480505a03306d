import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes'
import { type Terminal } from '@xterm/xterm'

/**
 * Makes the terminal count cells as tmux in the session does: two for an emoji, including one made of several characters. By default
 * xterm.js uses the widths of Unicode 6: one cell, so that redrawn parts of such a line would be misplaced.
 */
export function countCellsLikeTmux(terminal: Terminal): void {
  terminal.loadAddon(new UnicodeGraphemesAddon())
}
