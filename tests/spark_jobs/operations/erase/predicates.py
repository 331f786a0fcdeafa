"""Predicates on a row with a column of each type: what may be asked, and what the time of day decides."""

_ALLOWED = r"""
abs(i)=1
abs(ivd)=ivd
array_contains(arr,'x')
bigint(s)=1
boolean(s)
btrim(s)='a'
btrim(s,'x')='a'
cast(s as int)=1
cast(s as date)=dt
cast(i as string)='1'
ceil(f)=1
ceil(f,1)=1
ceil(d)=1
char_length(s)=1
coalesce(s,s2)='a'
concat(s,s2)='a'
s||s2='a'
arr||arr=arr
contains(s,'a')
contains(bin,X'00')
date(s)=dt
date(ts)=dt
date_add(dt,1)=dt
date_format(ts,'yyyy')='2026'
date_sub(dt,1)=dt
date_trunc('DAY',ts)=ts
datediff(dt,dt)=1
day(dt)=1
decimal(s)=1
double(s)=1
element_at(arr,1)='a'
element_at(m,'k')='a'
endswith(s,'a')
endswith(bin,X'00')
floor(f)=1
floor(f,1)=1
from_unixtime(i)='a'
from_unixtime(i,'yyyy')='a'
greatest(i,l)=1
hour(ts)=1
if(b,i,2)=1
ifnull(s,'a')='a'
int(s)=1
isnotnull(s)
isnull(s)
least(i,l)=1
left(s,2)='a'
length(s)=2
like(s,'a%')
lower(s)='a'
lpad(s,2,'a')='a'
lpad(bin,2,X'00')=bin
ltrim(s)='a'
md5(s)='a'
minute(ts)=1
month(dt)=1
nullif(s,'a')='b'
nvl(s,'a')='a'
regexp_like(s,'a')
replace(s,'a')='b'
replace(s,'a','b')='b'
right(s,2)='a'
round(f,1)=1
round(d)=1
rpad(s,2,'a')='a'
rpad(bin,2,X'00')=bin
rtrim(s)='a'
second(ts)=1
sha1(s)='a'
sha2(s,256)='a'
smallint(s)=1
split_part(s,'a',1)='a'
startswith(s,'a')
startswith(bin,X'00')
string(i)='a'
substr(s,1)='a'
substr(s,1,2)='a'
substring(s,1,2)='a'
substring(s from 1 for 2)='a'
timestamp(i)=ts
tinyint(s)=1
to_date(s)=dt
to_date(s,'yyyy')=dt
to_date(ts)=dt
to_timestamp(s,'yyyy')=ts
to_timestamp(dt)=ts
trim(s)='a'
trim(both 'a' from s)='a'
trim(leading 'a' from s)='a'
trim(trailing 'a' from s)='a'
trunc(dt,'MM')=dt
upper(s)='a'
year(dt)=1
i+1=2
i-1=2
i*2=2
i/2=2
i div 2=2
i%2=1
i&1=1
i|1=1
i^1=1
~i=1
-i=1
+i=1
dt+1=dt
dt-1=dt
dt-dt=ivd
ts-ts=ivd
dt+ivd=ts
dt+ivy=dt
ts+ivd=ts
ts+ivy=ts
ts-ivd=ts
ts-ivy=ts
dt-ivd=ts
dt-ivy=dt
ts + INTERVAL 1 DAY > ts
dt - INTERVAL 30 DAYS > dt
ivd*2=ivd
ivd/2=ivd
ivy*2=ivy
ivy/2=ivy
i=1 and i=2 or not i=3
i<>1
i<=>1
i>1 and i>=1 and i<1 and i<=1
i between 1 and 2
i in (1,2)
s like 'a%'
s ilike 'a%'
s rlike 'a'
s like all ('a','b')
s like any ('a','b')
s not like all ('a','b')
s not like any ('a','b')
s is null
s is not null
b is true
b is unknown
b is not unknown
case when b then true else false end
case i when 1 then true else false end
arr[0]='a'
m['k']='a'
st.x=1
ast.x[0]=1
position('a' in s)=1
overlay(s placing 'a' from 1)='a'
timestampadd(DAY,1,ts)=ts
timestampdiff(DAY,ts,ts)=1
timestampadd(DAY,1,ntz)=ntz
ts>'2026-01-01'
dt>'2026-01-01'
dt>DATE '2026-01-01'
ts>TIMESTAMP '2026-01-01'
ts>dt
d>f
d+1>2
d*d>2
d in (1,2.5)
i in (1,2.5)
dt in ('2026-01-01')
st.x in (1)
true
ts=ntz
nullif(i,1)=2
dt + INTERVAL 1 MONTH * 2 > dt
cast(dt AS timestamp) = ts
dt IN (DATE '2026-01-01', DATE"2026-01-02")
ts > TIMESTAMP '2026-01-01 12:30:00.5+01:00'
ts > '2026'
dt = date(concat(s,'-01'))
to_date('2026-01-31') = dt
s = 'today'
ts BETWEEN '2026-01-01' AND '2026-02-01 00:00:00'
hour(to_timestamp(s,'HH:mm'))=12
"""

_BY_THE_CLOCK = r"""
dt = current_date
dt = current_date()
ts > current_timestamp
ts > now()
ntz > localtimestamp
ntz > localtimestamp()
s = current_timezone()
s = current_user
dt = curdate()
l > unix_timestamp()
dt = DATE 'today'
dt < date"tomorrow"
dt < DATE 'epoch'
dt = DATE ' Yesterday UTC '
dt = DATE 'tod\u0061y'
dt = DATE r'2026-01-01'
dt = DATE /* 2026 */ '2026-01-01'
ts > TIMESTAMP 'now'
ts > TIMESTAMP '12:30:00'
ts > TIMESTAMP 'T12:30'
ts > TIMESTAMP_LTZ 'tomorrow'
ntz > TIMESTAMP_NTZ 'now'
dt = cast('today' AS date)
dt = try_cast('today' AS date)
dt = 'today'::date
dt = date('today')
dt = to_date('today')
dt = 'today'
dt BETWEEN '2026-01-01' AND 'today'
dt = trunc('today', 'MM')
year('today') = 2026
datediff(dt, 'today') > 30
date_add('today', 1) = dt
ts > 'now'
ts > timestamp('now')
ts > to_timestamp('now')
date_format('now', 'HH') = '12'
ts > date_trunc('DAY', 'now')
ts > timestampadd(DAY, -30, 'now')
dt = left('todayx', 5)
dt = date(concat('to', 'day'))
dt = date(nvl('today', 'x'))
dt = date(lower('TODAY'))
dt = date(CASE WHEN true THEN 'today' ELSE 'x' END)
dt = date(string(cast('today' AS string)))
ts > cast('12:30:00' AS timestamp)
hour('12:30') = 12
hour(s) = 12
ts > cast(s AS timestamp)
ts > to_timestamp(s)
ts > s
cast(arr AS array<timestamp>)[0] = ts
cast(arr AS array<date>)[0] = cast('now' AS date)
"""

ALLOWED = tuple(_ALLOWED.strip().splitlines())
BY_THE_CLOCK = tuple(_BY_THE_CLOCK.strip().splitlines())
