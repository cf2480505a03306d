import { type SessionId } from '#manager/contract'

/**
 * Opens the terminal of a session in a separate tab, beside the notebook. A second call returns to the same tab, found by its name.
 * @param kernel role of the container; if left out, the main one
 */
export function openTerminalTab(id: SessionId, kernel?: string): void {
  if (kernel === undefined) window.open(`#/terminal/${id}`, `berth-terminal-${id}`)
  else window.open(`#/terminal/${id}?kernel=${kernel}`, `berth-terminal-${id}-${kernel}`)
}
