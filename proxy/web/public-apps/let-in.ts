import { createHash } from 'node:crypto'
import { escapeHtml, page, PAGE_HEADERS } from '../../http-origins/pages.ts'
import { isKnownVisitor, newVisit, type PublicDoor, visitCookie } from './public-gate.ts'
import { type PublicPage } from './public-pages.ts'

export interface Entry {
  readonly door: PublicDoor
  /** Cookie field of the request. */
  readonly cookie: string | undefined
  readonly expiresAt: string
  /** The sign-in of the app's owner; left out for a link. */
  readonly visitor?: string | undefined
  /** First page, with its query. */
  readonly to: string
  /** True if apps are at ports of one host, where other apps may have been before. */
  readonly isShared: boolean
}

/**
 * Lets a browser in: gives it the cookie, and leads it to the app.
 *
 * Threat model: a port may have had another app before, whose storage, cache and service workers belong to the same origin and would act
 * with the rights of this visitor. They are cleared unless this browser already has a cookie of this app. Over https the browser clears
 * on request; "cookies" is left out, because it would sign the browser out of the other ports. Over http browsers ignore that
 * request and have no service workers: a page of ours clears the storage, and no answer of an app is stored in the
 * cache (`publicAnswer`). A page of the former app in an open tab remains; ports of other people
 * rest before they are given out again (`manager/grants/app-ports.ts`).
 */
export function letIn({ door, cookie, expiresAt, visitor, to, isShared }: Entry): PublicPage {
  const { name, attributes } = visitCookie(door)
  const { value, seconds } = newVisit(door, Date.parse(expiresAt), visitor)
  const clears = isShared && !isKnownVisitor(cookie, door)
  const headers = {
    ...PAGE_HEADERS,
    'set-cookie': `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${attributes}`,
    ...(clears ? { 'clear-site-data': '"cache", "storage"' } : {}),
  }
  if (!clears || door.scheme === 'https')
    return { status: 303, headers: { ...headers, location: startOf(to) }, body: () => '' }
  return {
    status: 200,
    headers: {
      ...headers,
      'content-security-policy': `${PAGE_HEADERS['content-security-policy']}; script-src '${CLEAR_HASH}'`,
    },
    body: language => clearingPage(startOf(to), language),
  }
}

/** Keeps the first page on this origin: an image's label names it. */
export function startOf(path: string): string {
  const url = URL.parse(path, 'http://app.invalid')
  if (!url) return '/'
  return url.host === 'app.invalid' ? url.pathname.replace(/^\/+/, '/') + url.search + url.hash : '/'
}

/** Storage that an origin over http has. A database that another tab holds open is deleted when that tab closes. */
const CLEAR = `(async () => {
  const gone = ({ name }) => new Promise(done => {
    const asked = indexedDB.deleteDatabase(name)
    asked.onsuccess = asked.onerror = asked.onblocked = done
  })
  try {
    localStorage.clear()
    sessionStorage.clear()
    await Promise.all((await indexedDB.databases()).map(gone))
  } finally {
    location.replace(document.querySelector('a').href)
  }
})()`
const CLEAR_HASH = `sha256-${createHash('sha256').update(CLEAR).digest('base64')}`

const WORDS = {
  en: {
    title: 'Opening the app',
    text: 'Data of another app that this address had before is deleted.',
    go: 'Continue',
  },
  ko: { title: '앱을 여는 중입니다', text: '이 주소를 쓰던 다른 앱의 데이터를 삭제합니다.', go: '계속' },
} as const

function clearingPage(to: string, language: keyof typeof WORDS): string {
  const { go, ...told } = WORDS[language]
  const form = `<p><a href="${escapeHtml(to)}">${go}</a></p><script>${CLEAR}</script>`
  return page({ ...told, form, language })
}
