import { createTransport } from 'nodemailer'
import { AppError, because } from '#manager/contract'
import { type Log } from '../log.ts'
import { type MailServer } from '../settings/settings.ts'

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/**
 * Sends our mail through the server of the settings.
 *
 * Threat model: mails carry one-time links, which are as good as a password while they last. So TLS is required unless a superadmin
 * switched it off, certificates are always verified, and no text of a mail is ever logged. Attachments from files or addresses are
 * disabled, because we use none. After a minute, the mailer gives up on a server that does not answer.
 */
export interface Mailer extends AsyncDisposable {
  /** @throws AppError `mail_not_configured`, `mail_failed` with the words of the server */
  send(mail: Mail): Promise<void>
  /**
   * Sends in the background, so that the time of a reply does not reveal whether a mail was sent. Retries a few times if the server is away
   * or asks us to try later; a final failure is only logged.
   */
  post(mail: Mail): void
}

const GIVE_UP_MS = 60_000
/** Back-off between retries: greylisting needs minutes, and links live at least half an hour. */
const TRY_AGAIN_MS = [15_000, 60_000, 300_000] as const
const LONGEST_QUEUE = 500

export interface MailerDeps {
  readonly server: () => Promise<MailServer | undefined>
  readonly log: Log
  readonly tryAgainMs?: readonly number[]
}

export function createMailer({ server, log, tryAgainMs = TRY_AGAIN_MS }: MailerDeps): Mailer {
  const pending = new Set<Promise<void>>()
  const ending = new AbortController()

  async function send(mail: Mail): Promise<void> {
    const to = await server()
    if (!to) throw new AppError('mail_not_configured', because('mail_settings_first'))
    await deliver(to, mail, ending.signal)
  }

  async function sendPatiently(mail: Mail): Promise<void> {
    for (const waitMs of [...tryAgainMs, undefined]) {
      try {
        await send(mail)
        return
      } catch (error) {
        const again = waitMs !== undefined && isTemporary(error) && !ending.signal.aborted
        log.warn({ err: error, subject: mail.subject, again }, 'a mail could not be sent')
        if (!again || !(await pause(waitMs, ending.signal))) return
      }
    }
  }

  return {
    send,
    post(mail) {
      if (pending.size >= LONGEST_QUEUE) {
        log.warn({ subject: mail.subject }, 'too many mails wait; this one is dropped')
        return
      }
      const sending = sendPatiently(mail)
      pending.add(sending)
      void sending.finally(() => pending.delete(sending))
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await Promise.allSettled(pending)
    },
  }
}

async function deliver(server: MailServer, mail: Mail, signal: AbortSignal): Promise<void> {
  const { host, port, security, from, login } = server
  const transport = createTransport({
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(login ? { auth: { user: login.user, pass: login.password } } : {}),
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const gaveUp = AbortSignal.any([signal, AbortSignal.timeout(GIVE_UP_MS)])
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(new Error('the mail server took too long'))
  gaveUp.addEventListener('abort', onAbort, { once: true })
  if (gaveUp.aborted) onAbort()
  try {
    await Promise.race([transport.sendMail({ from: { name: 'Berth', address: from }, ...mail }), aborted.promise])
  } catch (error) {
    const cause = hasRefusedStarttls(error) ? 'mail_server_without_starttls' : 'mail_server_says'
    const why = because(cause, { server: `${host}:${port}`, text: wordsOf(error) })
    throw new AppError('mail_failed', { ...why, temporary: isTemporaryCause(error) }, { cause: error })
  } finally {
    gaveUp.removeEventListener('abort', onAbort)
    transport.close()
  }
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0]?.slice(0, 300) ?? ''
}

/** Whether the server answered the command itself with a refusal; a handshake that fails later has no answer. */
function hasRefusedStarttls(error: unknown): boolean {
  const { command, responseCode } = error as { command?: unknown; responseCode?: unknown }
  return command === 'STARTTLS' && typeof responseCode === 'number'
}

/**
 * A reply of class 4 means a temporary failure, one of class 5 a permanent one; without a reply the server was not reached. RFC 5321 4.2.1
 */
function isTemporaryCause(error: unknown): boolean {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown }
  if (typeof responseCode === 'number') return responseCode >= 400 && responseCode < 500
  return code !== 'EAUTH' && code !== 'EENVELOPE'
}

function isTemporary(error: unknown): boolean {
  return error instanceof AppError && error.detail.temporary === true
}

/** Waits. @returns false if the signal aborted the wait */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(true), ms).unref()
  signal.addEventListener('abort', () => resolve(false), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
