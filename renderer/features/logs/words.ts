import en from '../../words/en/logs.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('logs', en)
