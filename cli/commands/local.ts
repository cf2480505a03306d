import { request } from 'node:http'
import { join } from 'node:path'
import { type Command } from 'commander'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError } from '#manager/contract'
import { textUpTo } from '#proxy/connect-app'
import {
  type AskedLocally,
  CONSOLE_PORT,
  LOCAL_SOCKET_HEADER,
  LOCAL_SOCKETS,
  localSocketDirectories,
} from '#proxy/contract'
import { agrees, plain } from '../agrees.ts'
import { createOutput } from '../output.ts'
import { parsePort } from './servers.ts'

interface Flags {
  port: number
  yes?: boolean
}

const ANSWER_MS = 10_000
const MOST_BYTES = 64 * 1024
const UNASKED = 'If the code is yours, add --yes.'
const Asked = z.object({
  email: z.string(),
  browser: z.string(),
  secondsAgo: z.number(),
  uid: z.number().nullable(),
}) satisfies z.ZodType<AskedLocally>

/** Adds `berth local`, which any user of the computer runs for a browser of theirs (ADR 63). It needs no sign-in. */
export function addLocalCommand(program: Command): void {
  program
    .command('local <code>')
    .description('Confirm that the browser which shows this code runs on this computer, so that it may open apps here.')
    .option('--port <number>', 'port of the console', parsePort, CONSOLE_PORT)
    .option('--yes', 'do not ask: the code is that of a browser of your own')
    .action(async (code: string, { port, yes = false }: Flags) => {
      const output = createOutput(false)
      const socket = await findSocket(port, code)
      const { email, browser, secondsAgo, uid } = askedIn(socket.body)
      if (uid !== null && uid !== process.getuid?.()) throw new AppError('forbidden', { why: othersBrowser(uid) })
      output.note(`${plain(email)} asked ${secondsAgo} s ago, in this browser: ${plain(browser)}`)
      if (!yes && !(await agrees('Is this your account, in a browser on this computer?', UNASKED))) {
        throw new AppError('forbidden', { why: 'Nothing was confirmed.' })
      }
      const { status } = await ask(socket.path, 'POST', code)
      if (status !== 204) throw unknownCode()
      output.note('Confirmed. The page goes on by itself.')
    })
}

/** The first socket that can be reached: that of the console's own account, then the one for everybody. */
async function findSocket(port: number, code: string): Promise<{ path: string; body: string }> {
  for (const directory of localSocketDirectories(port)) {
    for (const name of [LOCAL_SOCKETS.account, LOCAL_SOCKETS.everyone]) {
      const path = join(directory, name)
      const answer = await ask(path, 'GET', code).catch(() => undefined)
      if (answer?.status === 200) return { path, body: answer.body }
      if (answer) throw unknownCode()
    }
  }
  const why = `No Berth of this computer can be asked at port ${port}. The page that shows the code names the port; on another computer the code is of no use.`
  throw new AppError('unavailable', { why })
}

/** @throws AppError `unavailable` */
function askedIn(body: string): AskedLocally {
  const { success, data } = Asked.safeParse(parseJson(body))
  if (success) return data
  throw new AppError('unavailable', { why: 'What answers at the socket of this port is not Berth.' })
}

/** Threat model: another user of the computer may have taken the socket's name, and answer without an end. */
async function ask(
  socketPath: string,
  method: 'GET' | 'POST',
  code: string,
): Promise<{ status: number; body: string }> {
  const path = `/codes/${encodeURIComponent(code)}`
  const headers = { [LOCAL_SOCKET_HEADER]: '1' }
  const sent = request({ socketPath, method, path, headers, signal: AbortSignal.timeout(ANSWER_MS) })
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  sent.on('error', reject)
  sent.on('response', response => {
    textUpTo(response, MOST_BYTES).then(body => resolve({ status: response.statusCode ?? 0, body }), reject)
  })
  sent.end()
  return promise
}

const unknownCode = () =>
  new AppError('not_found', {
    why: 'No browser shows this code now. A code counts for five minutes and once; get a new one on the page.',
  })

const othersBrowser = (uid: number) =>
  `The browser that shows this code was started by another user of this computer (user id ${uid}), or is behind a proxy here. Only that user can confirm it. If somebody sent you the code, do not use it.`
