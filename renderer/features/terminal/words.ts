import en from '../../words/en/terminal.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('terminal', en)
