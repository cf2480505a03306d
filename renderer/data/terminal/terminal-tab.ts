import { type SessionId } from '#manager/contract'

/**
 * Opens the terminal of a session in a tab of its own, which can stand beside the notebook. A second call returns to the same tab,
 * by its name.
 */
export function openTerminalTab(id: SessionId): void {
  window.open(`#/terminal/${id}`, `berth-terminal-${id}`)
}
