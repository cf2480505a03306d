import { randomBytes } from 'node:crypto'
import { type Duplex } from 'node:stream'
import { partsOfName } from '#base/byte-names'
import {
  AppError,
  because,
  CommandId,
  type ErrorCode,
  type FileEntry,
  type FileKind,
  isAppError,
  type SessionFileListQuery,
  type SessionFilePage,
  type SessionId,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { requireEnterable } from '../sessions/require-session.ts'
import { requireStillRuns, startCommand } from '../sessions/start-command.ts'
import { nameOf } from '../storage/file-names.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { type CommandOnAgent } from '../tunnels/gateway.ts'
import { type Caller } from '../users/authorize.ts'
import { type LongRequests } from '../users/long-requests.ts'
import { endInput, outputOf, sendInput } from './run-script.ts'
import { draftName, FILE_EXIT, listScript, readScript, removeDraftScript, stateScript, writeScript } from './scripts.ts'

export interface SessionFilesDeps {
  readonly store: Store
  readonly agents: AgentRequests
  /** Opens the streams of an attached command. */
  readonly openCommand: (at: CommandOnAgent, signal: AbortSignal) => Promise<Duplex>
  readonly longRequests: Pick<LongRequests, 'watch'>
}

/** A file as it was when it was looked at. */
export interface SessionFile {
  readonly size: number
  readonly modifiedAt: Date
  readonly etag: string
  /** Bytes from `start` up to `end`. @throws AppError `file_changed`, `tunnel_failed` */
  read(range: { readonly start: number; readonly end: number }): AsyncGenerator<Buffer, void, undefined>
}

/** Condition of a write: the file as it was, or none. */
export type ExpectedFile = { readonly etag: string } | 'absent'

/**
 * Files of running sessions, for programs: those of the home, and all others that the session's user may read and write.
 *
 * Threat model: whoever may run commands in a session may do this, and it is done by commands (ADR 106): as the session's user, in its
 * container. So links, mounts, rights and quotas are those of the session, and no path leads out of it. What a session says about its files
 * is data of hostile programs: sizes and names are parsed strictly, a part is as long as was said or the answer breaks off. Right and sign-in
 * are read at each request, once more when its command can be ended, and while it lasts: their end ends the command.
 */
export interface SessionFiles {
  /** @throws AppError `session_not_found`, `forbidden`, `session_not_running`, `file_not_found`, `file_kind_refused`, `agent_unreachable` */
  list(caller: Caller, id: SessionId, query: SessionFileListQuery, signal: AbortSignal): Promise<SessionFilePage>
  /** @throws as `list` */
  open(caller: Caller, id: SessionId, path: string, signal: AbortSignal): Promise<SessionFile>
  /** @throws as `list`, `file_exists`, `file_changed`, `disk_full`, `bad_request` (the body ended early), `upload_stalled` */
  write(
    caller: Caller,
    id: SessionId,
    file: {
      readonly path: string
      readonly expected: ExpectedFile
      readonly bytes: AsyncIterable<Uint8Array>
      /** Number of bytes that come. */
      readonly length: number
    },
    signal: AbortSignal,
  ): Promise<FileEntry>
}

/** Listings and looks that take longer meet a file system that hangs. */
const QUICK_MS = 60_000
/** The agent ends a transfer after this time, however slowly its client sends or reads. */
const TRANSFER_MS = 24 * 60 * 60_000
/** Bytes that a listing may have: names of 255 bytes, and states. */
const MOST_LISTED_BYTES = 1_024 * 1_024

/** For whom a script runs in which session, and until when. */
interface Place {
  readonly caller: Caller
  readonly id: SessionId
  readonly signal: AbortSignal
}

export function createSessionFiles({ store, agents, openCommand, longRequests }: SessionFilesDeps): SessionFiles {
  const { db } = store

  /**
   * Starts a script in the main container of a session. It ends with the sign-in of its caller, and with the right to the session.
   *
   * @param isWatched false: Berth itself removes something, which it does also for a sign-in that has ended
   */
  async function start(
    { caller, id, signal }: Place,
    command: string[],
    { timeoutMs, isWatched = true }: { readonly timeoutMs: number; readonly isWatched?: boolean },
  ): Promise<Duplex> {
    const session = await requireEnterable(db, caller, id, 'only_members_run_commands')
    const [kernel] = await listKernels(db, [id])
    if (session.status !== 'RUNNING' || !kernel?.agent_id)
      throw new AppError('session_not_running', { sessionId: id, ...because('session_is', { status: session.status }) })
    const at = { agentId: kernel.agent_id, kernelId: kernel.id, commandId: newId(CommandId) }
    const { agentId, kernelId, commandId } = at
    const input = { kernelId, commandId, userId: caller.userId, command, environ: {}, workingDirectory: null }
    const requireStill = isWatched ? () => requireStillRuns(db, caller, id) : () => Promise.resolve()
    const started = { ...input, stdin: '', timeoutMs, attached: true }
    await startCommand(agents, { agentId, sessionId: id, input: started, requireStill })
    if (!isWatched) return await openCommand(at, signal)
    const wire = await openCommand(at, signal)
    const watched = longRequests.watch(caller, requireStill, () => wire.destroy())
    wire.once('close', () => watched[Symbol.dispose]())
    return wire
  }

  /** Runs a script that writes little. @throws AppError by its exit code */
  async function ask(at: Place, command: string[], path: string, isWatched = true): Promise<Buffer> {
    const wire = await start(at, command, { timeoutMs: QUICK_MS, isWatched })
    void endInput(wire)
    return await collect(wire, path)
  }

  return {
    async list(caller, id, { path, limit, after }, signal) {
      const at = { caller, id, signal }
      const output = await ask(at, listScript(inBase64(path), inBase64(after ?? ''), limit + 1), path)
      const texts = splitAtNul(output)
      const items: FileEntry[] = []
      for (let i = 0; i + 1 < texts.length; i += 2) {
        const entry = toEntry(texts[i] ?? Buffer.alloc(0), String(texts[i + 1]))
        if (entry) items.push(entry)
      }
      const hasMore = texts.length > 2 * limit
      const shown = items.slice(0, limit)
      return { items: shown, next: hasMore ? (shown.at(-1)?.name ?? null) : null }
    },
    async open(caller, id, path, signal) {
      const at = { caller, id, signal }
      const text = String(await ask(at, stateScript(inBase64(path)), path))
      const state = parseState(text)
      return {
        ...state,
        async *read({ start: first, end }) {
          const wire = await start(at, readScript(inBase64(path), { start: first, end, state: text }), {
            timeoutMs: TRANSFER_MS,
          })
          void endInput(wire)
          yield* exactly(outputOf(wire), end - first, path)
        },
      }
    },
    async write(caller, id, { path, expected, bytes, length }, signal) {
      const state = expected === 'absent' ? undefined : stateIn(expected.etag)
      const draft = draftName(randomBytes(8).toString('hex'))
      // When the client leaves, the script removes its draft. Breaking its stream would kill it before.
      const at = { caller, id, signal: new AbortController().signal }
      const wire = await start(at, writeScript(inBase64(path), draft, state, length), { timeoutMs: TRANSFER_MS })
      let isStalled = false
      void sendInput(wire, bytes, { gone: signal, onStall: () => (isStalled = true) })
      const answer = await collect(wire, path).catch(async (error: unknown) => {
        // A script that was killed, perhaps at the end of the sign-in, has left its draft. If this fails too, a later write into the directory removes it.
        if (isAppError(error) && error.code === 'tunnel_failed')
          await ask(at, removeDraftScript(inBase64(path), draft), path, false).catch(() => undefined)
        throw isStalled ? new AppError('upload_stalled', because('no_byte_arrived'), { cause: error }) : error
      })
      const { size, modifiedAt, etag } = parseState(String(answer).trimEnd())
      const name = path.split('/').at(-1) ?? ''
      return { name, kind: 'file', size, modifiedAt: modifiedAt.toISOString(), etag, executable: false }
    },
  }
}

/** @throws AppError by the exit code */
async function collect(wire: Duplex, path: string): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  const output = outputOf(wire)
  for (;;) {
    const next = await output.next()
    if (next.done) {
      requireDone(next.value, path)
      return Buffer.concat(parts)
    }
    bytes += next.value.length
    if (bytes > MOST_LISTED_BYTES) {
      wire.destroy()
      throw new AppError('agent_failed', because('agent_answer_unreadable', { request: 'start_command' }))
    }
    parts.push(next.value)
  }
}

/** Passes as many bytes on as were announced. @throws AppError `file_changed` if there are fewer, and by the exit code */
async function* exactly(
  output: AsyncGenerator<Buffer, number, undefined>,
  length: number,
  path: string,
): AsyncGenerator<Buffer, void, undefined> {
  let left = length
  try {
    for (;;) {
      const next = await output.next()
      if (next.done) {
        requireDone(next.value, path)
        if (left > 0) throw new AppError('file_changed', { path })
        return
      }
      const part = next.value.subarray(0, left)
      left -= part.length
      if (part.length > 0) yield part
    }
  } finally {
    await output.return(0)
  }
}

const BY_EXIT: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  [FILE_EXIT.missing]: ['file_not_found', 'There is no such file or directory in the session.'],
  [FILE_EXIT.kind]: ['file_kind_refused', 'A file was expected where a directory is, or a directory where a file is.'],
  [FILE_EXIT.refused]: ['forbidden', 'The user of the session may not do this with the file.'],
  [FILE_EXIT.changed]: ['file_changed', 'Read the file again, and decide with its new ETag.'],
  [FILE_EXIT.full]: ['disk_full', 'The disk of the session or its quota is full. Delete some files.'],
  [FILE_EXIT.exists]: ['file_exists', 'Send If-Match with its ETag to replace it.'],
  [FILE_EXIT.cut]: ['bad_request', 'The body ended early. The file was left as it was.'],
}

/** @throws AppError for an exit code other than 0 */
function requireDone(exitCode: number, path: string): void {
  if (exitCode === 0) return
  const [code, why] = BY_EXIT[exitCode] ?? ['tunnel_failed', `The program for files ended with exit code ${exitCode}.`]
  throw new AppError(code, { path, why })
}

const inBase64 = (path: string) =>
  Buffer.concat(
    partsOfName(path).map(part => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))),
  ).toString('base64')

function splitAtNul(bytes: Buffer): Buffer[] {
  const texts: Buffer[] = []
  for (let from = 0; ;) {
    const at = bytes.indexOf(0, from)
    if (at < 0) return texts
    texts.push(bytes.subarray(from, at))
    from = at + 1
  }
}

const FILE_STATE = /^(\d{1,20}) (\d{1,15}) (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{9}) \+0000$/
const ENTRY_STATE = /^([0-9a-f]{1,8}) ([0-7]{1,5}) (.*)$/

/** @param text inode, size and time of change, as `stat` writes them @throws AppError `agent_failed` */
function parseState(text: string) {
  const [, , size, date, time, fraction] = FILE_STATE.exec(text) ?? []
  if (size === undefined || date === undefined || time === undefined || fraction === undefined)
    throw new AppError('agent_failed', because('agent_answer_unreadable', { request: 'start_command' }))
  const modifiedAt = new Date(`${date}T${time}.${fraction.slice(0, 3)}Z`)
  return { size: Number(size), modifiedAt, etag: `"${Buffer.from(text).toString('base64url')}"` }
}

/** @throws AppError `file_changed`: an ETag that no file has */
function stateIn(etag: string): string {
  const text = Buffer.from(/^"([\w-]{1,200})"$/.exec(etag)?.[1] ?? '', 'base64url').toString()
  if (FILE_STATE.test(text)) return text
  throw new AppError('file_changed', { why: 'The ETag is not one of a file of a session.' })
}

const KINDS: Readonly<Record<number, FileKind>> = { 0o10: 'file', 0o04: 'directory', 0o12: 'link' }

/** @returns undefined for an entry that has gone meanwhile */
function toEntry(name: Buffer, text: string): FileEntry | undefined {
  const [, mode, rights = '0', state = ''] = ENTRY_STATE.exec(text) ?? []
  if (mode === undefined) return undefined
  const kind = KINDS[Number.parseInt(mode, 16) >> 12] ?? 'other'
  const { size, modifiedAt, etag } = parseState(state)
  const isFile = kind === 'file'
  return {
    name: nameOf(name),
    kind,
    size: isFile ? size : 0,
    modifiedAt: modifiedAt.toISOString(),
    etag: isFile ? etag : null,
    executable: isFile && (Number.parseInt(rights, 8) & 0o100) !== 0,
  }
}
