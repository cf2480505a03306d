import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes'
import { type Terminal } from '@xterm/xterm'

/**
 * Has the terminal count cells as tmux in the session does: two for an emoji, also one that several characters make up. By itself xterm.js
 * has the widths of Unicode 6: one cell, so that what a program redraws on that line is misplaced.
 */
export function countCellsLikeTmux(terminal: Terminal): void {
  terminal.loadAddon(new UnicodeGraphemesAddon())
}
