import en from '../../words/en/project.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('project', en)
