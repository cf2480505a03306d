import en from '../../words/en/sign-in-again.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('sign-in-again', en)
