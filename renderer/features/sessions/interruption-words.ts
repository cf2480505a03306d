import en from '../../words/en/interruption.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('interruption', en)
