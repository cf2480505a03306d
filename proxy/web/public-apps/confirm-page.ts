import { PUBLIC_OPEN_PATH } from '#manager/contract'
import { escapeHtml, page } from '../../http-origins/pages.ts'
import { type PageLanguage } from '../../http-origins/page-language.ts'
import { FORM_HEADERS, type PublicPage } from './public-pages.ts'

export interface Asked {
  /** E-mail address of the app's owner. */
  readonly user: string
  readonly app: string
  readonly session: string
  readonly ticket: string
  readonly to: string
}

/** Names the owner of the app that a ticket opens, and asks the visitor to continue. */
export function confirmPage(asked: Asked): PublicPage {
  return { status: 200, headers: FORM_HEADERS, body: language => confirmForm(asked, language) }
}

const WORDS = {
  en: {
    title: ({ app, user }: Asked) => `This opens ${app} of ${user}`,
    text: ({ session }: Asked) =>
      `The app runs in the session "${session}". What you type there can be read by that person. Go on only if that is you, and you have just opened the app from the console.`,
    go: ({ user }: Asked) => `Continue as ${user}`,
  },
  ko: {
    title: ({ app, user }: Asked) => `${user} 사용자의 ${app} 앱을 엽니다`,
    text: ({ session }: Asked) =>
      `앱은 "${session}" 세션에서 실행됩니다. 여기에 입력하는 내용은 그 사용자가 읽을 수 있습니다. 본인이고 방금 콘솔에서 앱을 연 경우에만 계속하세요.`,
    go: ({ user }: Asked) => `${user} 사용자로 계속`,
  },
} as const

function confirmForm(asked: Asked, language: PageLanguage): string {
  const { title, text, go } = WORDS[language]
  const form = `<form method="post" action="${PUBLIC_OPEN_PATH}">
<input type="hidden" name="ticket" value="${escapeHtml(asked.ticket)}"><input type="hidden" name="to" value="${escapeHtml(asked.to)}">
<p><button type="submit">${escapeHtml(go(asked))}</button></p></form>`
  return page({ title: title(asked), text: text(asked), form, language })
}
