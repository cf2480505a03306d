import { AppError } from '#manager/contract'
import { type LinkSource } from '#proxy/contract'
import { type ElectronSlice } from '../electron-slice.ts'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type Questions } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'
import { hostOfLink, isExternalUrlAllowed } from './external-urls.ts'

export interface Links {
  /**
   * Opens a link with the program that the operating system has for it. A link from a text opens only if the user has agreed to its host.
   *
   * @throws AppError `forbidden` for a form of links that Berth does not open
   */
  open(url: string, source: LinkSource): Promise<void>
}

export interface LinkDeps {
  readonly electron: {
    readonly shell: Pick<ElectronSlice['shell'], 'openExternal'>
    readonly clipboard: ElectronSlice['clipboard']
  }
  readonly questions: Pick<Questions, 'ask' | 'raise'>
  readonly hasBrowser: () => Promise<boolean>
  /** An address for the browser in place of one that other users of the computer must not read; left out where they read no arguments. */
  readonly lead?: ((url: string) => Promise<string>) | undefined
  readonly settings: Pick<SettingsFile, 'current' | 'update'>
  readonly language: () => Language
  readonly log: { warn(detail: object, message: string): void }
}

/** The question shows the start of a longer address. Its host is always shown whole. */
const SHOWN_LENGTH = 300
const MOST_HOSTS = 200

/**
 * Opens links outside of the app.
 *
 * Threat model: anybody who can write into a terminal, a log or a file chooses the address of a link, and may hide it behind another text.
 * So the user sees the host, in its ASCII form, before a browser gets the address, and *Cancel* is the default. One question is open at a
 * time: a page cannot bury the user in them. Addresses from Berth, such as a sign-in at a provider, are not shown to other users of the
 * computer (`lead-browser.ts`); those of apps here work for this user only anyway.
 */
export function createLinks({ electron, questions, settings, hasBrowser, lead, language, log }: LinkDeps): Links {
  let isAsking = false

  async function ask(url: string, host: string): Promise<void> {
    const words = wordsOf(language())
    const { response, checkboxChecked } = await questions.ask({
      type: 'question',
      title: 'Berth',
      message: words.openLink(host),
      detail: words.linkOfText(url.length > SHOWN_LENGTH ? `${url.slice(0, SHOWN_LENGTH)}…` : url),
      buttons: [words.openInBrowser, words.copyLink, words.cancel],
      defaultId: 2,
      cancelId: 2,
      noLink: true,
      checkboxLabel: words.alwaysOpen(host),
    })
    if (response === 1) void electron.clipboard.writeText(url)
    if (response !== 0) return
    if (checkboxChecked) {
      const others = settings.current.linkHosts.filter(other => other !== host)
      // The link opens even if the answer could not be saved.
      await settings
        .update({ linkHosts: [host, ...others].slice(0, MOST_HOSTS) })
        .catch((error: unknown) => log.warn({ err: error }, 'the answer to a question is not kept'))
    }
    await show(url)
  }

  /** Opens the link, or shows its address if no program would open it. */
  async function show(url: string, led?: LinkDeps['lead']): Promise<void> {
    if (!/^https?:/i.test(url) || (await hasBrowser())) {
      await electron.shell.openExternal(led ? await led(url) : url)
      return
    }
    const words = wordsOf(language())
    const { response } = await questions.ask({
      type: 'warning',
      title: 'Berth',
      message: words.noBrowser,
      detail: words.noBrowserDetail,
      buttons: [words.copyLink, words.closeQuestion],
      defaultId: 0,
      cancelId: 1,
      noLink: true,
    })
    if (response === 0) void electron.clipboard.writeText(url)
  }

  return {
    async open(url, source) {
      const host = hostOfLink(url)
      if (!isExternalUrlAllowed(url) || (source === 'text' && host === undefined))
        throw new AppError('forbidden', { why: 'Berth does not open this kind of link.' })
      if (source === 'berth' || host === undefined || settings.current.linkHosts.includes(host)) {
        const isHidden = lead !== undefined && source === 'berth' && isElsewhere(url)
        await show(url, isHidden ? lead : undefined)
        return
      }
      if (isAsking) {
        questions.raise()
        return
      }
      isAsking = true
      try {
        await ask(url, host)
      } finally {
        isAsking = false
      }
    },
  }
}

/** Whether a page is on another computer. */
function isElsewhere(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return /^https?:$/.test(protocol) && !/^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}
