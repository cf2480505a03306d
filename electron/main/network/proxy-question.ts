import { randomUUID } from 'node:crypto'
import { type BrowserWindow } from 'electron'
import { isAppError } from '#manager/contract'
import { type ElectronSlice } from '../electron-slice.ts'
import { QUESTION_ORIGIN } from '../security/console-origin.ts'
import { SECURE_WEB_PREFERENCES } from '../security/web-preferences.ts'
import { type Language, wordsOf } from '../questions/words.ts'
import { proxyForm } from './proxy-form.ts'

export interface ProxyQuestion {
  /** Origin of the proxy. */
  readonly proxy: string
  /** True if a name and a password, of this run or an earlier one, were refused. */
  readonly wasRefused: boolean
  readonly tryOut: (signIn: string) => Promise<boolean>
}

/** Name and password that the user typed and the proxy accepted. */
export interface ProxyAnswer {
  /** `name:password` */
  readonly signIn: string
  /** True if the user wants it in the credential store. */
  readonly isKept: boolean
}

/** @returns null if the user cancels or closes the window */
export type AskForProxy = (question: ProxyQuestion) => Promise<ProxyAnswer | null>

export interface ProxyQuestions {
  readonly ask: AskForProxy
  /** Answers the requests of the windows: for `protocol.handle`. */
  answer(request: Request): Promise<Response>
}

export interface ProxyQuestionDeps {
  readonly electron: Pick<ElectronSlice, 'BrowserWindow'>
  readonly language: () => Language
  /** Window in front of which to open, if any. */
  readonly parent: () => BrowserWindow | undefined
}

interface Open {
  readonly question: ProxyQuestion
  readonly finish: (answer: ProxyAnswer | null) => void
}

/**
 * The small window that asks for the sign-in to a proxy. It is a separate window, because connections of the app wait for the answer even
 * while the console is hidden or shows its start screen.
 *
 * Its page has no script and no bridge: a form, which this process fills in and reads. Its address has a random part, the form is sent only
 * there (content security policy, `guardContents`), and nothing else can open it.
 */
export function createProxyQuestions({ electron, language, parent }: ProxyQuestionDeps): ProxyQuestions {
  const open = new Map<string, Open>()

  async function reply({ question, finish }: Open, fields: URLSearchParams): Promise<string | undefined> {
    const { proxy, tryOut } = question
    const [name, password] = [fields.get('name')?.trim() ?? '', fields.get('password') ?? '']
    const words = wordsOf(language())
    // The first colon separates name and password.
    const isTyped = name !== '' && !name.includes(':')
    const failure = !isTyped
      ? words.proxyNameWanted
      : await tryOut(`${name}:${password}`).then(
          taken => (taken ? undefined : words.proxyRefused),
          (error: unknown) => (isAppError(error) ? String(error.detail.why) : words.proxyFailed),
        )
    if (failure === undefined) finish({ signIn: `${name}:${password}`, isKept: fields.has('keep') })
    return failure && proxyForm({ proxy, name, failure, isKept: fields.has('keep'), language: language() })
  }

  return {
    async ask(question) {
      const path = `/${randomUUID()}`
      const done = Promise.withResolvers<ProxyAnswer | null>()
      open.set(path, { question, finish: done.resolve })
      const above = parent()
      const window = new electron.BrowserWindow({
        width: 480,
        height: 480,
        useContentSize: true,
        resizable: false,
        minimizable: false,
        fullscreenable: false,
        title: wordsOf(language()).proxyTitle,
        autoHideMenuBar: true,
        ...(above ? { parent: above } : {}),
        webPreferences: { ...SECURE_WEB_PREFERENCES, spellcheck: false },
      })
      window.once('closed', () => done.resolve(null))
      window.webContents.on('before-input-event', (_event, { type, key }) => {
        if (type === 'keyDown' && key === 'Escape') done.resolve(null)
      })
      void window.loadURL(`${QUESTION_ORIGIN}${path}`)
      try {
        return await done.promise
      } finally {
        open.delete(path)
        if (!window.isDestroyed()) window.destroy()
      }
    },
    async answer(request) {
      const asked = open.get(new URL(request.url).pathname)
      // For a form of this scheme, Chromium sends no Origin or `null`.
      const origin = request.headers.get('origin') ?? 'null'
      if (!asked || (origin !== 'null' && origin !== QUESTION_ORIGIN)) return new Response(null, { status: 404 })
      if (request.method !== 'POST') {
        const { proxy, wasRefused } = asked.question
        const failure = wasRefused ? wordsOf(language()).proxyRefused : undefined
        return page(proxyForm({ proxy, name: '', failure, isKept: false, language: language() }))
      }
      const fields = new URLSearchParams(await request.text())
      if (fields.has('cancel')) asked.finish(null)
      const again = fields.has('cancel') ? undefined : await reply(asked, fields)
      return again === undefined ? new Response(null, { status: 204 }) : page(again)
    },
  }
}

const POLICY = `default-src 'none'; style-src 'unsafe-inline'; form-action ${QUESTION_ORIGIN}; base-uri 'none'; frame-ancestors 'none'`

const page = (html: string) =>
  new Response(html, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  })
