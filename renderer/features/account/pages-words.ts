import en from '../../words/en/account-pages.ts'
import { defineWords } from '../../words/i18n.ts'

/** Texts of the account's pages that are loaded after the sign-in page. */
export const t = defineWords('account-pages', en)
