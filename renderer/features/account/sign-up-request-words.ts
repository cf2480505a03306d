import en from '../../words/en/sign-up-request.ts'
import { defineWords } from '../../words/i18n.ts'

/** Texts of asking for an account; loaded with its form. */
export const t = defineWords('sign-up-request', en)
