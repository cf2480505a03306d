import { type BrokenAnswer } from './broken-answer.ts'
import { type Admission } from './gate.ts'
import { type PageLanguage } from './page-language.ts'

/** `long_head`, `raw_address`, `unreadable`: the gate could not check the request. `other_user` is decided before the gate. */
export type Refusal =
  | Extract<Admission, { kind: 'refuse' }>['reason']
  | 'long_head'
  | 'raw_address'
  | 'unreadable'
  | 'other_user'

/** Text of the page when the gate refuses: what happened, and what to do. */
const REFUSALS: Readonly<Record<Refusal, Told>> = {
  wrong_host: {
    en: [
      'This address belongs to another app',
      'This port was opened for another app name than the one in the address bar. Open the app again from the console.',
    ],
    ko: [
      '다른 앱의 주소입니다',
      '이 포트는 주소 표시줄의 이름과 다른 앱을 위해 열렸습니다. 콘솔에서 앱을 다시 여세요.',
    ],
  },
  foreign_origin: {
    en: [
      'Request from another site',
      'Another web page tried to reach this app through your browser. Berth stopped the request; nothing was sent to the app.',
    ],
    ko: [
      '다른 사이트의 요청',
      '다른 웹 페이지가 브라우저를 통해 이 앱에 접근하려고 했습니다. Berth가 요청을 막았으며, 앱에는 아무것도 전달되지 않았습니다.',
    ],
  },
  unsaid_origin: {
    en: [
      'The browser does not say which page sent this request',
      'The page has the policy "no-referrer", and this browser is too old to tell by other means that the page is one of this app. Use a newer browser, or have the app send "Referrer-Policy: same-origin".',
    ],
    ko: [
      '어느 페이지가 보낸 요청인지 브라우저가 알리지 않습니다',
      '페이지의 정책이 "no-referrer"이고, 이 브라우저는 오래되어 이 앱의 페이지임을 다른 방법으로 알리지 못합니다. 새 브라우저를 사용하거나 앱이 "Referrer-Policy: same-origin"을 보내도록 하세요.',
    ],
  },
  long_head: {
    en: [
      'The head of the request is too long',
      'The cookies and the address of the request are longer than 64 KiB together. Delete the cookies of this address in the settings of the browser.',
    ],
    ko: [
      '요청의 헤더가 너무 깁니다',
      '요청의 쿠키와 주소가 합해서 64KiB보다 깁니다. 브라우저 설정에서 이 주소의 쿠키를 삭제하세요.',
    ],
  },
  raw_address: {
    en: [
      'The address of the request is not encoded',
      'The address holds characters beyond ASCII as they are. They have to be percent-encoded (RFC 3986), such as %ED%95%9C for 한; browsers do this by themselves.',
    ],
    ko: [
      '요청의 주소가 인코딩되지 않았습니다',
      '주소에 ASCII가 아닌 문자가 그대로 들어 있습니다. "한"을 %ED%95%9C로 쓰는 것처럼 퍼센트 인코딩(RFC 3986)해야 합니다. 브라우저는 이를 자동으로 합니다.',
    ],
  },
  unreadable: {
    en: ['The request is not valid HTTP', 'The request cannot be read. Nothing was sent to the app.'],
    ko: ['올바른 HTTP 요청이 아닙니다', '요청을 읽을 수 없습니다. 앱에는 아무것도 전달되지 않았습니다.'],
  },
  other_user: {
    en: [
      'This link is for another user of the computer',
      'A link to an app works in the browsers of the user who opened the app. Run the browser as that user, and without a proxy.',
    ],
    ko: [
      '이 컴퓨터의 다른 사용자를 위한 링크입니다',
      '앱의 링크는 앱을 연 사용자의 브라우저에서만 사용할 수 있습니다. 프록시 없이 그 사용자로 브라우저를 실행하세요.',
    ],
  },
  bad_ticket: {
    en: [
      'This link was used before or is too old',
      'A link to an app works once, within one minute. Go back to the console and open the app again.',
    ],
    ko: [
      '이미 사용했거나 오래된 링크입니다',
      '앱의 링크는 1분 안에 한 번만 사용할 수 있습니다. 콘솔로 돌아가서 앱을 다시 여세요.',
    ],
  },
  worker: {
    en: [
      'Service workers for the whole address are not allowed',
      'A service worker for the whole address could read the sign-in links of this app. Berth did not register it; the app works without one.',
    ],
    ko: [
      '주소 전체의 서비스 워커는 허용되지 않습니다',
      '주소 전체의 서비스 워커는 이 앱의 로그인 링크를 읽을 수 있으므로 Berth가 등록하지 않았습니다. 앱은 서비스 워커 없이도 동작합니다.',
    ],
  },
  no_cookie: {
    en: [
      'Open this app from the console',
      'This browser is not signed in to the app, or the app was opened anew. Open the app from the console.',
    ],
    ko: ['콘솔에서 앱을 여세요', '이 브라우저가 앱에 로그인하지 않았거나 앱이 새로 열렸습니다. 콘솔에서 앱을 여세요.'],
  },
}

/** Title and text of a page. */
type Told = Readonly<Record<PageLanguage, readonly [title: string, text: string]>>

export function refusalPage(reason: Refusal, language: PageLanguage): string {
  const [title, text] = REFUSALS[reason][language]
  return page({ title, text, code: reason, language })
}

/** Like `refusalPage`, as plain text for programs. */
export const refusalText = (reason: Refusal): string => REFUSALS[reason].en.join('. ')

/** Page shown when the path to the app failed. With `retry` the page reloads by itself: the app may still be starting. */
export function failurePage(failure: {
  readonly app: string
  readonly session: string
  readonly code: string
  readonly message: string
  readonly retry: boolean
  readonly broken: BrokenAnswer | undefined
  readonly language: PageLanguage
}): string {
  const { app, session, code, message, retry, broken, language } = failure
  const isKorean = language === 'ko'
  if (broken && broken.kind !== 'none') {
    const title = isKorean
      ? `"${session}" 세션의 ${app} 앱이 올바른 HTTP로 응답하지 않았습니다`
      : `${app} in session "${session}" gave an answer that is not valid HTTP`
    return page({
      title,
      text: broken.kind === 'invalid' ? unreadable(broken, language) : ABOUT_TLS[broken.kind][language],
      code,
      language,
    })
  }
  const next = [...(broken ? [NEXT.closed[language]] : []), NEXT[retry ? 'again' : 'console'][language]].join(' ')
  return page({
    title: isKorean
      ? `"${session}" 세션의 ${app} 앱이 응답하지 않습니다`
      : `${app} in session "${session}" does not answer`,
    // `message` is in English only.
    text: isKorean ? next : `${message} ${next}`,
    code,
    language,
    refreshSeconds: retry ? 3 : undefined,
  })
}

const ABOUT_TLS = {
  tls: {
    en: 'The app speaks https. Open its port as one that speaks https: in the console with "Open another port", or by "berth app SESSION PORT --protocol https".',
    ko: '앱이 https를 사용합니다. 콘솔의 "다른 포트 열기"에서 서버가 https를 사용한다고 표시하거나 "berth app SESSION PORT --protocol https"로 포트를 여세요.',
  },
  no_tls: {
    en: 'The port was opened as one that speaks https, and the app does not speak it. Open the port without https.',
    ko: 'https를 사용하는 포트로 열었지만 앱이 https를 사용하지 않습니다. https 없이 포트를 여세요.',
  },
} as const

const unreadable = ({ reason }: { readonly reason: string }, language: PageLanguage) =>
  language === 'ko'
    ? `원인: ${reason}. 브라우저는 이런 응답을 받아들이기도 합니다. 앱을 고치거나, 콘솔에서 포트를 "프로그램에서"로 여세요.`
    : `The reason: ${reason}. Some browsers accept such answers. Correct the app, or open its port in the console "For a program".`

const NEXT = {
  closed: {
    en: 'It closed the connection without an answer, as apps do that speak https.',
    ko: '앱이 응답 없이 연결을 닫았습니다. https를 사용하는 앱이 이렇게 동작하기도 합니다.',
  },
  again: {
    en: 'The app may still be starting; this page tries again every few seconds.',
    ko: '앱이 아직 시작하는 중일 수 있습니다. 이 페이지가 몇 초마다 다시 시도합니다.',
  },
  console: {
    en: 'The page of the session in the console says what happened and what you can do.',
    ko: '콘솔의 세션 페이지에서 원인과 할 수 있는 일을 확인하세요.',
  },
} as const

interface PageText {
  readonly title: string
  readonly text: string
  readonly code?: string
  /** HTML below the text. */
  readonly form?: string
  readonly refreshSeconds?: number | undefined
  readonly language: PageLanguage
}

export function page({ title, text, code, form = '', refreshSeconds, language }: PageText): string {
  const refresh = refreshSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${refreshSeconds}">`
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${refresh}
<title>${escapeHtml(title)}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}code{opacity:.7}input,button{font:inherit;padding:.4rem .6rem}</style>
</head><body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>${form}${code === undefined ? '' : `<p><code>${escapeHtml(code)}</code></p>`}</main></body></html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

/** Headers of every page of ours on an app's origin. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
} as const
