import en from '../../words/en/sessions.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('sessions', en)
