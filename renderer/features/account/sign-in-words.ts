import en from '../../words/en/sign-ins.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('sign-ins', en)
