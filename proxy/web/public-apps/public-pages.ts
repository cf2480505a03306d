import { type LinkEnd, PUBLIC_OPEN_PATH } from '#manager/contract'
import { type AppFailure } from '../../http-origins/app-forward.ts'
import { escapeHtml, page, PAGE_HEADERS } from '../../http-origins/pages.ts'
import { type PageLanguage } from '../../http-origins/page-language.ts'
import { type PublicAdmission } from './public-gate.ts'

type Refusal =
  | Extract<PublicAdmission, { kind: 'refuse' }>['reason']
  | 'ended'
  | LinkEnd
  | 'key'
  | 'busy'
  | 'ticket'
  | 'not_open'

interface RefusalText {
  readonly status: number
  /** Title and text of the page. */
  readonly en: readonly [string, string]
  readonly ko: readonly [string, string]
}

const REFUSALS: Readonly<Record<Refusal, RefusalText>> = {
  wrong_host: {
    status: 404,
    en: ['Nothing is here', 'No app is published at this address.'],
    ko: ['여기에는 아무것도 없습니다', '이 주소에 공개된 앱이 없습니다.'],
  },
  foreign_origin: {
    status: 403,
    en: [
      'Request from another site',
      'Another web page tried to reach this app through your browser. Nothing was sent to the app.',
    ],
    ko: [
      '다른 사이트의 요청',
      '다른 웹 페이지가 브라우저를 통해 이 앱에 접근하려고 했습니다. 앱에는 아무것도 전달되지 않았습니다.',
    ],
  },
  unsaid_origin: {
    status: 403,
    en: [
      'The browser does not say which page sent this request',
      'The page has the policy "no-referrer". At an address with http, a browser has no other way to tell that the page is one of this app. Ask the owner of the app to have it send "Referrer-Policy: same-origin", or the administrator to publish apps with https.',
    ],
    ko: [
      '어느 페이지가 보낸 요청인지 브라우저가 알리지 않습니다',
      '페이지의 정책이 "no-referrer"입니다. http 주소에서는 브라우저가 이 앱의 페이지임을 알릴 다른 방법이 없습니다. 앱의 주인에게 앱이 "Referrer-Policy: same-origin"을 보내도록 요청하거나, 관리자에게 앱을 https로 공개하도록 요청하세요.',
    ],
  },
  wrong_address: {
    status: 403,
    en: [
      'This app is not open to your network',
      'The link works only from certain addresses. Ask the person who sent it.',
    ],
    ko: ['이 네트워크에는 공개되지 않은 앱입니다', '링크는 정해진 주소에서만 동작합니다. 보낸 사람에게 문의하세요.'],
  },
  no_visit: {
    status: 403,
    en: [
      'Open this app with its link',
      'This browser has not opened the link yet, or the visit has ended. Open the whole link again.',
    ],
    ko: ['링크로 앱을 여세요', '이 브라우저에서 아직 링크를 열지 않았거나 방문이 끝났습니다. 링크 전체를 다시 여세요.'],
  },
  worker: {
    status: 403,
    en: [
      'Service workers for the whole address are not allowed',
      'A service worker for the whole address could read the links of this app. The app works without one.',
    ],
    ko: [
      '주소 전체의 서비스 워커는 허용되지 않습니다',
      '주소 전체의 서비스 워커는 이 앱의 링크를 읽을 수 있습니다. 앱은 서비스 워커 없이도 동작합니다.',
    ],
  },
  ended: {
    status: 404,
    en: [
      'This link has ended',
      'The link expired or was withdrawn, or the app ended. Ask the person who sent it for a new one.',
    ],
    ko: [
      '종료된 링크입니다',
      '링크가 만료되었거나 취소되었거나 앱이 종료되었습니다. 보낸 사람에게 새 링크를 요청하세요.',
    ],
  },
  withdrawn: {
    status: 410,
    en: [
      'This link was withdrawn',
      'The person who published the app, or an administrator, has ended the link. Ask the person who sent it.',
    ],
    ko: ['취소된 링크입니다', '앱을 공개한 사람이나 관리자가 링크를 종료했습니다. 링크를 보낸 사람에게 문의하세요.'],
  },
  expired: {
    status: 410,
    en: ['This link has expired', 'Its time is over. Ask the person who sent it for a new one.'],
    ko: ['만료된 링크입니다', '링크의 유효 기간이 끝났습니다. 보낸 사람에게 새 링크를 요청하세요.'],
  },
  app_ended: {
    status: 410,
    en: ['The app of this link has ended', 'Its session was ended. Ask the person who sent the link for a new one.'],
    ko: ['링크의 앱이 종료되었습니다', '앱의 세션이 종료되었습니다. 보낸 사람에게 새 링크를 요청하세요.'],
  },
  key: {
    status: 403,
    en: ['This link is not complete', 'A part of the link is missing or wrong. Copy the whole link again.'],
    ko: ['링크가 완전하지 않습니다', '링크의 일부가 없거나 틀렸습니다. 링크 전체를 다시 복사하세요.'],
  },
  ticket: {
    status: 401,
    en: [
      'This link was used before or is too old',
      'A link to an app works once, within one minute. Go back to the console and open the app again.',
    ],
    ko: [
      '이미 사용했거나 오래된 링크입니다',
      '앱의 링크는 1분 안에 한 번만 사용할 수 있습니다. 콘솔로 돌아가서 앱을 다시 여세요.',
    ],
  },
  not_open: {
    status: 401,
    en: [
      'Open this app from the console',
      'This browser is not signed in to the app, or the sign-in, the session or your right to it has ended. Open the app from the console.',
    ],
    ko: [
      '콘솔에서 앱을 여세요',
      '이 브라우저가 앱에 로그인하지 않았거나, 로그인이나 세션 또는 사용 권한이 끝났습니다. 콘솔에서 앱을 여세요.',
    ],
  },
  busy: {
    status: 503,
    en: ['Too many requests', 'Many apps are being opened right now. Try again in a few seconds.'],
    ko: ['요청이 너무 많습니다', '지금 여는 앱이 많습니다. 몇 초 뒤에 다시 시도하세요.'],
  },
}

export interface PublicPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** HTML in the language of the visitor. */
  readonly body: (language: PageLanguage) => string
}

/** Search engines must not index these pages. */
const HEADERS = { ...PAGE_HEADERS, 'x-robots-tag': 'noindex' }
/** With `no-referrer` a form would be sent with `Origin: null`; a key or a ticket in the address goes nowhere either way. */
export const FORM_HEADERS = { ...HEADERS, 'referrer-policy': 'strict-origin' }

export function publicRefusal(reason: Refusal): PublicPage {
  const { status, ...told } = REFUSALS[reason]
  return {
    status,
    headers: HEADERS,
    body(language) {
      const [title, text] = told[language]
      return page({ title, text, code: reason, language })
    },
  }
}

/** Page for an app that does not answer. Visitors learn neither the session's name nor the reason. */
export function publicFailure({ code, retry, broken, language }: AppFailure): string {
  // The next request learns why; a page that was open reloads for it.
  if (code === 'published_app_not_found') return publicRefusal('ended').body(language)
  const { away, unreadable, again, ask } = FAILURE[language]
  const title = broken && broken.kind !== 'none' ? unreadable : away
  return page({ title, text: retry ? again : ask, code, language, refreshSeconds: retry ? 3 : undefined })
}

const FAILURE = {
  en: {
    away: 'The app does not answer',
    unreadable: 'The app gave an answer that cannot be read',
    again: 'This page tries again every few seconds.',
    ask: 'Ask the person who sent you the link.',
  },
  ko: {
    away: '앱이 응답하지 않습니다',
    unreadable: '앱의 응답을 읽을 수 없습니다',
    again: '이 페이지가 몇 초마다 다시 시도합니다.',
    ask: '링크를 보낸 사람에게 문의하세요.',
  },
} as const

const DOOR = {
  en: {
    title: (app: string) => `${app} asks for a password`,
    text: 'The person who sent you the link knows it.',
    password: 'Password',
    open: 'Open',
    wrong: 'Wrong password.',
    tooMany: (seconds: number | undefined) =>
      `Too many wrong passwords. ${seconds === undefined ? 'Try again later.' : `Try again in ${seconds} s.`}`,
  },
  ko: {
    title: (app: string) => `${app} 앱을 열려면 비밀번호가 필요합니다`,
    text: '비밀번호는 링크를 보낸 사람이 알고 있습니다.',
    password: '비밀번호',
    open: '열기',
    wrong: '비밀번호가 틀렸습니다.',
    tooMany: (seconds: number | undefined) =>
      `틀린 비밀번호가 너무 많습니다. ${seconds === undefined ? '나중에' : `${seconds}초 후에`} 다시 시도하세요.`,
  },
} as const

/** Why the last password was not taken. `seconds`: how long the visitor has to wait. */
export type DoorFault = { readonly kind: 'wrong' } | { readonly kind: 'tooMany'; readonly seconds: number | undefined }

/** Asks for the password of a link. */
export function passwordPage(asked: { title: string; key: string; fault?: DoorFault }): PublicPage {
  const status = asked.fault === undefined ? 200 : 403
  return { status, headers: FORM_HEADERS, body: language => passwordForm(asked, language) }
}

function passwordForm(
  { title, key, fault }: { title: string; key: string; fault?: DoorFault },
  language: PageLanguage,
): string {
  const words = DOOR[language]
  const why = fault && (fault.kind === 'wrong' ? words.wrong : words.tooMany(fault.seconds))
  const form = `<form method="post" action="${PUBLIC_OPEN_PATH}">
<input type="hidden" name="key" value="${escapeHtml(key)}">
<p><label for="password">${words.password}</label><br>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus maxlength="1024"${why === undefined ? '' : ' aria-invalid="true" aria-describedby="fault"'}></p>
${why === undefined ? '' : `<p id="fault" role="alert">${escapeHtml(why)}</p>\n`}<p><button type="submit">${words.open}</button></p></form>`
  return page({ title: words.title(title), text: words.text, form, language })
}
