import { type Ask } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export type QuitAnswer = 'background' | 'stop' | 'cancel'

/** Activities that would end with the app. */
export interface Running {
  readonly tunnels: number
  readonly connections: number
  /** The embedded manager and agent, started by this app. */
  readonly stack: boolean
}

/** Work of the pages that would be lost. */
export interface PageWork {
  /** How far the uploads are, 0 to 1; null while there are none. */
  readonly uploads: number | null
  readonly hasEdits: boolean
}

/** The question, or undefined if nothing would be lost. */
export function quitQuestion(
  { tunnels, connections, stack, uploads, hasEdits }: Running & PageWork,
  language: Language,
): string | undefined {
  const words = wordsOf(language)
  const parts = [
    uploads !== null && words.uploadsStop(Math.floor(uploads * 100)),
    hasEdits && words.editsLost,
    tunnels > 0 && words.tunnelsCut(tunnels, connections),
    stack && words.stackStops,
  ].filter(part => part !== false)
  return parts.length === 0 ? undefined : [...parts, words.sessionsStay].join('\n')
}

export async function askBeforeQuit(ask: Ask, running: Running & PageWork, language: Language): Promise<QuitAnswer> {
  const detail = quitQuestion(running, language)
  if (detail === undefined) return 'stop'
  const words = wordsOf(language)
  const answers = ['background', 'stop', 'cancel'] as const
  const { response } = await ask({
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
