import { type IncomingMessage } from 'node:http'
import { MAX_HEADER_BYTES } from '../http/create-server.ts'
import { type PageLanguage } from '../http-origins/page-language.ts'
import { page } from '../http-origins/pages.ts'
import { type PublicPage } from './public-apps/public-pages.ts'
import { CONTENT_SECURITY_POLICY, SECURITY_HEADERS } from './security-headers.ts'

/** Largest head that is parsed: larger than MAX_HEADER_BYTES, so that we can see what makes a head too long. */
export const PARSED_HEADER_BYTES = 4 * MAX_HEADER_BYTES

/** `cookies`: they make the head too long. `deleted`: the browser was told to delete them. `unread`: the parser gave up. */
type Cause = 'cookies' | 'deleted' | 'address' | 'unread'

/**
 * The answer to a request whose head is longer than MAX_HEADER_BYTES; undefined for others.
 *
 * A browser sends the cookies of every program at a host name to every port of it, and any of these programs can set more than a server
 * reads. Node would answer 431 without an explanation, for ever. So the browser is told to delete the cookies of the host name
 * (`Clear-Site-Data`, which browsers follow over https and at loopback names).
 *
 * Threat model: any page can make a browser send a long head here, and that answer would sign its visitor out. So cookies are deleted only
 * if they are what makes the head too long, and for a request of our own page, or of the person (a typed address, a bookmark):
 * `Sec-Fetch-Site`, which pages cannot write, says so. Everybody else gets a page with a link, whose click is a request of our own page. At
 * addresses of apps nothing is deleted: their pages are foreign, and the console may have the same host name.
 */
export function longHead(request: IncomingMessage, isConsole: boolean): PublicPage | undefined {
  const { url = '', rawHeaders, headers } = request
  let length = url.length
  for (const text of rawHeaders) length += text.length + 2
  if (length <= MAX_HEADER_BYTES) return undefined
  const isByCookies = length - (headers.cookie?.length ?? 0) <= MAX_HEADER_BYTES
  const site = headers['sec-fetch-site']
  const isAsked = site === 'same-origin' || site === 'none'
  return longHeadPage(!isByCookies ? 'address' : isConsole && isAsked ? 'deleted' : isConsole ? 'cookies' : 'unread')
}

export function longHeadPage(cause: Cause): PublicPage {
  return {
    status: 431,
    headers: {
      ...SECURITY_HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      connection: 'close',
      ...(cause === 'deleted' ? { 'clear-site-data': '"cookies"' } : {}),
    },
    body(language) {
      const { title, text, link } = WORDS[language][cause]
      const form = link === undefined ? '' : `<p><a href="/">${link}</a></p>`
      return page({ title, text, form, language })
    },
  }
}

interface Words {
  readonly title: string
  readonly text: string
  readonly link?: string
}

const EN_COOKIES = 'This browser sent too many cookies'
const KO_COOKIES = '브라우저가 보낸 쿠키가 너무 많습니다'
const WORDS: Readonly<Record<PageLanguage, Readonly<Record<Cause, Words>>>> = {
  en: {
    cookies: {
      title: EN_COOKIES,
      text: 'Other programs at the same host name have set more cookies than Berth reads. To go on, delete the cookies of this host name, which signs out of Berth and of programs at its other ports.',
      link: 'Delete them and load Berth',
    },
    deleted: {
      title: EN_COOKIES,
      text: 'Berth has told the browser to delete the cookies of this host name, which signs out of programs at its other ports as well. If this page comes back, delete the cookies of this address in the settings of the browser.',
      link: 'Load Berth again',
    },
    address: {
      title: 'The address of the request is too long',
      text: 'The address and the fields of a request may be 64 KiB long together. Use a shorter address.',
    },
    unread: {
      title: 'The head of the request is too long',
      text: 'This browser sent too many cookies, or a very long address. If another address of this host works, use that; otherwise delete the cookies of this address in the settings of the browser.',
    },
  },
  ko: {
    cookies: {
      title: KO_COOKIES,
      text: '같은 호스트 이름의 다른 프로그램이 Berth가 읽을 수 있는 것보다 많은 쿠키를 설정했습니다. 계속하려면 이 호스트 이름의 쿠키를 삭제하세요. Berth와 다른 포트의 프로그램에서 로그아웃됩니다.',
      link: '쿠키를 삭제하고 Berth 불러오기',
    },
    deleted: {
      title: KO_COOKIES,
      text: '이 호스트 이름의 쿠키를 삭제하도록 브라우저에 알렸습니다. 다른 포트의 프로그램에서도 로그아웃됩니다. 이 페이지가 다시 나타나면 브라우저 설정에서 이 주소의 쿠키를 삭제하세요.',
      link: 'Berth 다시 불러오기',
    },
    address: {
      title: '요청의 주소가 너무 깁니다',
      text: '요청의 주소와 헤더는 합해서 64KiB까지 허용됩니다. 더 짧은 주소를 사용하세요.',
    },
    unread: {
      title: '요청의 헤더가 너무 깁니다',
      text: '브라우저가 보낸 쿠키가 너무 많거나 주소가 매우 깁니다. 이 호스트의 다른 주소가 열리면 그 주소를 사용하고, 아니면 브라우저 설정에서 이 주소의 쿠키를 삭제하세요.',
    },
  },
}
