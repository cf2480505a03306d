import en from '../../words/en/this-computer.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('this-computer', en)
