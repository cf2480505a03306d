import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ApiClient, emptyLogText, type Session } from '#manager/contract'
import { defined } from '#base/defined'
import { type Output } from '../output.ts'
import { writeParts } from '../write-parts.ts'

export interface LogFlags {
  readonly tail: number
  readonly kernel?: string
  readonly timestamps?: boolean
  readonly all?: boolean
  readonly output?: string
  readonly json?: boolean
}

/** Writes the log as far as it is kept, part by part, to standard output or to a new file. */
export async function writeWholeLog(
  { api, session, output }: { readonly api: ApiClient; readonly session: Session; readonly output: Output },
  flags: Pick<LogFlags, 'kernel' | 'output'>,
): Promise<void> {
  const seen = { isCut: false, isEmpty: true }
  async function* parts(): AsyncGenerator<string> {
    let part: number | undefined
    for (;;) {
      const query = defined({ kernel: flags.kernel, part })
      const { text, next, truncated } = await api.readSessionLog({ params: { id: session.id }, query })
      seen.isCut ||= truncated
      seen.isEmpty &&= text === ''
      yield text
      if (next === null) return
      part = next
    }
  }
  if (flags.output !== undefined) {
    await pipeline(Readable.from(parts()), createWriteStream(flags.output, { flags: 'wx', mode: 0o600 }))
  } else if (output.json) {
    let text = ''
    for await (const part of parts()) text += part
    output.data({ text, truncated: seen.isCut }, () => text)
  } else {
    await writeParts(parts())
  }
  if (seen.isEmpty) output.note(emptyLogText(session))
  if (seen.isCut) output.note('The log was longer: its older lines are not kept.')
}
