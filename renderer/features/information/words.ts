import en from '../../words/en/information.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('information', en)
