import { type ElectronSlice } from '../electron-slice.ts'

export type QuitAnswer = 'background' | 'stop' | 'cancel'

/** Activities that would end with the app. */
export interface Running {
  readonly tunnels: number
  readonly connections: number
  /** The embedded manager and agent, started by this app. */
  readonly stack: boolean
}

/** The question, or undefined if nothing would be lost. */
export function quitQuestion({ tunnels, connections, stack }: Running): string | undefined {
  if (tunnels === 0 && !stack) return undefined
  const parts = [
    tunnels > 0 &&
      `${count(tunnels, 'open tunnel')} with ${count(connections, 'connection')} (SSH, SFTP, Jupyter) will be cut.`,
    stack && 'The Berth services on this computer will stop, also for other people who use them.',
    'Sessions keep running either way, with your unsaved work.',
  ]
  return parts.filter(part => part !== false).join('\n')
}

export async function askBeforeQuit(dialog: ElectronSlice['dialog'], running: Running): Promise<QuitAnswer> {
  const detail = quitQuestion(running)
  if (detail === undefined) return 'stop'
  const answers = ['background', 'stop', 'cancel'] as const
  const { response } = await dialog.showMessageBox({
    type: 'question',
    title: 'Berth',
    message: 'Keep Berth running in the background?',
    detail,
    buttons: ['Keep running in the background', 'Stop and quit', 'Cancel'],
    defaultId: 0,
    cancelId: 2,
    noLink: true,
  })
  return answers[response] ?? 'cancel'
}

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`
