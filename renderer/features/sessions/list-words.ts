import en from '../../words/en/session-list.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('session-list', en)
