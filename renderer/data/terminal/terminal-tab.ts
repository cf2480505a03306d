import { type SessionId } from '#manager/contract'

/** Opens the terminal of a session in a separate tab, beside the notebook. A second call returns to the same tab, found by its name. */
export function openTerminalTab(id: SessionId): void {
  window.open(`#/terminal/${id}`, `berth-terminal-${id}`)
}
