import type en from '../en/palette.ts'
import { type Translation } from '../message-types.ts'

export default {
  palette: '명령 팔레트',
  searchLabel: '화면, 세션, 작업 검색',
  placeholder: '화면이나 세션으로 이동하거나 작업을 실행하세요',
  nothing: '일치하는 항목이 없습니다',
  pages: '화면',
  administration: '관리',
  sessions: '세션',
  actions: '작업',
  folders: '폴더',
  newSession: '새 세션',
  lightTheme: '밝은 테마',
  darkTheme: '어두운 테마',
  languageAction: '언어: {language}',
  showShortcuts: '단축키',
  signOut: '로그아웃',
  terminalOf: '{name} 세션의 터미널',
} satisfies Translation<typeof en>
