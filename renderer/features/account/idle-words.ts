import en from '../../words/en/idle.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('idle', en)
