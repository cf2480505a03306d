import type en from '../en/identities.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '로그인 제공자',
  what: '소속 기관의 계정을 연결하면 Berth 비밀번호 없이 로그인할 수 있습니다.',
  none: '연결된 계정이 없습니다.',
  facts: '{provider} · {since} 연결 · 마지막 사용 {when}',
  removedProvider: '삭제된 제공자({issuer})',
  link: '{name} 연결',
  linkTitle: '{name} 계정 연결',
  linkText:
    '다음으로 {name}에 로그인합니다. 연결하면 그곳에 내 계정으로 로그인할 수 있는 사람은 Berth에도 내 계정으로 로그인할 수 있습니다.',
  linkDirectoryText:
    '{name}의 계정이 본인 것임을 두 비밀번호로 확인하세요. 연결하면 그곳에 본인으로 로그인할 수 있는 사람은 Berth에도 본인으로 로그인할 수 있습니다.',
  nameAt: '{name}의 이름',
  passwordAt: '{name}의 비밀번호',
  goOn: '{name}에서 계속',
  linked: '연결되었습니다: {email}',
  unlink: '연결 해제',
  unlinkOf: '{email} 연결 해제',
  unlinkTitle: '{email} 연결을 해제할까요?',
  unlinkText:
    '이 계정으로 더 이상 Berth에 로그인할 수 없습니다. 이 계정으로 받은 프로젝트와 역할은 회수됩니다. 역할이 바뀌지 않으면 이미 열린 로그인은 유지됩니다.',
  unlinked: '연결을 해제했습니다.',
  otherAddress: '계정을 연결하려면 {address}에서 Berth를 여세요. 제공자가 그 주소로 돌아옵니다.',
  enterCode: '브라우저에서 계속한 다음, 표시되는 코드를 입력하세요.',
  code: '브라우저의 코드',
  finish: '연결',
} as const satisfies Translation<typeof en>
