import en from '../../words/en/sso.ts'
import { defineWords } from '../../words/i18n.ts'

/** Texts of sign-ins at a provider; loaded with the first of their parts. */
export const t = defineWords('sso', en)
