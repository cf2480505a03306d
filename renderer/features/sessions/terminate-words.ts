import en from '../../words/en/terminate.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('terminate', en)
