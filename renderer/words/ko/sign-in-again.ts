import type en from '../en/sign-in-again.ts'
import { type Translation } from '../message-types.ts'

export default {
  signInAgain: '다시 로그인',
  signInEnded: '로그인이 만료되었습니다. 화면은 그대로 유지되며, 세션과 프로그램은 계속 실행됩니다.',
  signInAsOther: '다른 사용자로 로그인',
} satisfies Translation<typeof en>
