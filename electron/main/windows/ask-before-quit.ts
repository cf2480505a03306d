import { type ElectronSlice } from '../electron-slice.ts'
import { type Language, wordsOf } from './words.ts'

export type QuitAnswer = 'background' | 'stop' | 'cancel'

/** Activities that would end with the app. */
export interface Running {
  readonly tunnels: number
  readonly connections: number
  /** The embedded manager and agent, started by this app. */
  readonly stack: boolean
}

/** The question, or undefined if nothing would be lost. */
export function quitQuestion({ tunnels, connections, stack }: Running, language: Language): string | undefined {
  if (tunnels === 0 && !stack) return undefined
  const words = wordsOf(language)
  const parts = [tunnels > 0 && words.tunnelsCut(tunnels, connections), stack && words.stackStops, words.sessionsStay]
  return parts.filter(part => part !== false).join('\n')
}

export async function askBeforeQuit(
  dialog: ElectronSlice['dialog'],
  running: Running,
  language: Language,
): Promise<QuitAnswer> {
  const detail = quitQuestion(running, language)
  if (detail === undefined) return 'stop'
  const words = wordsOf(language)
  const answers = ['background', 'stop', 'cancel'] as const
  const { response } = await dialog.showMessageBox({
    type: 'question',
    title: 'Berth',
    message: words.keepRunningQuestion,
    detail,
    buttons: [words.keepRunning, words.stopAndQuit, words.cancel],
    defaultId: 0,
    cancelId: 2,
    noLink: true,
  })
  return answers[response] ?? 'cancel'
}
