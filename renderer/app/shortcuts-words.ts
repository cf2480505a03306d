import en from '../words/en/shortcuts.ts'
import { defineWords } from '../words/i18n.ts'

export const t = defineWords('shortcuts', en)
