import { type Command, InvalidArgumentError } from 'commander'
import { type Session, SessionTag } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { findSession } from './find-session.ts'

interface JsonFlag {
  json?: boolean
}

/** `berth session tag|untag|note …`: words by which the owner finds a session again. */
export function addSessionLabelCommands(session: Command): void {
  session
    .command('tag <session>')
    .argument('<tags...>', 'letters, digits and inner - _ . / :', collectTag)
    .description('Add tags to a session of yours; `berth session ls --tag TAG` finds it.')
    .option('--json', 'print JSON')
    .action(async (reference: string, tags: string[], { json = false }: JsonFlag) => {
      await change(reference, json, had => [...new Set([...had.tags, ...tags])])
    })

  session
    .command('untag <session> <tags...>')
    .description('Remove tags from a session of yours.')
    .option('--json', 'print JSON')
    .action(async (reference: string, tags: string[], { json = false }: JsonFlag) => {
      await change(reference, json, had => had.tags.filter(tag => !tags.includes(tag)))
    })

  session
    .command('note <session> [text]')
    .description('Show the note of a session, or write it. An empty text removes the note.')
    .option('--json', 'print JSON')
    .action(async (reference: string, note: string | undefined, { json = false }: JsonFlag) => {
      const connection = await connect()
      const found = await findSession(connection, reference)
      const { api } = connection
      const shown = note === undefined ? found : await api.updateSession({ params: { id: found.id }, body: { note } })
      createOutput(json).data(shown, () => shown.note)
    })
}

async function change(reference: string, json: boolean, tagsOf: (had: Session) => string[]): Promise<void> {
  const connection = await connect()
  const had = await findSession(connection, reference)
  const changed = await connection.api.updateSession({ params: { id: had.id }, body: { tags: tagsOf(had) } })
  createOutput(json).data(changed, () => `${changed.id}  ${changed.name}  ${changed.tags.join(' ')}`.trimEnd())
}

/** For options and arguments that may be repeated. */
export function collectTag(text: string, all: string[] = []): string[] {
  if (!SessionTag.safeParse(text).success) {
    throw new InvalidArgumentError('A tag has 1 to 32 letters or digits, with "-", "_", ".", "/" or ":" between them.')
  }
  return [...all, text]
}
