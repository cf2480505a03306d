import en from '../../words/en/identities.ts'
import { defineWords } from '../../words/i18n.ts'

/** Texts of the account's own links to sign-in providers. */
export const t = defineWords('identities', en)
